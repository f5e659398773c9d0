"""The words of the report that a reader may not know, each in one sentence. No figures."""

TERMS: tuple[tuple[str, str], ...] = (
    (
        "policy",
        "The model that the round trains: it answers tasks by calling tools. Tasks are split by content; "
        "those of the report are seen by no training and by no judge.",
    ),
    (
        "sampled, greedy",
        "Sampled answers are drawn as in training, and tell how reliable the policy is; greedy ones take the "
        "likeliest token each time. Sampled accuracy is the one that a round is measured by.",
    ),
    (
        "probe",
        "The gate's comparison: from the round's own checkpoint, two short trainings with the same seeds, "
        "one with the patch, scored on tasks kept for judging. That is why its scores lie above the round's.",
    ),
    ("interval", "Where the true value lies with 95 % confidence, resampled over tasks."),
    ("no task worse beyond noise", "No single task got significantly worse, all tasks tested together."),
    ("headroom", "How far the reward is from its maximum at the end of the training."),
    ("findings without a patch", "Only findings that point to a setting become patches, one a round."),
)
