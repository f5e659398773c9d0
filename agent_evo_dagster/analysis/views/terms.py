"""The words of the report that a reader may not know, and whose words its quotations are. No figures."""

QUOTED = (
    "What is quoted here was recorded in sessions: rounds, files and commands that it names are those of the "
    "session's own project, not of this report."
)
QUOTED_HERE = "quoted; rounds and files that it names are the session's own"

TERMS: tuple[tuple[str, str], ...] = (
    (
        "round",
        "One turn of the loop: it looks at sessions, trains with the settings that the skills had when it "
        "was opened, proposes a patch, has it judged and decided on. What is approved counts from the next.",
    ),
    (
        "skill, section",
        "A skill is a text that a coding agent follows (SKILL.md), kept in sections; rllm-config has the "
        "settings of the training in them.",
    ),
    ("patch", "One small edit of one section of one skill. Its id is a hash of what it does."),
    (
        "base hash, result hash",
        "SHA-256 of the section's text before a patch, and of it after that patch alone. A compiled skill "
        "has a hash of its own, of the whole file.",
    ),
    (
        "baseline, candidate",
        "The two sides of a gate's comparison: without the patch and with it. By seed, each has the mean of "
        "the same tasks; the ledger's figures are over all seeds.",
    ),
    (
        "gate, judge",
        "Before anybody decides, a judge compares the skill without the patch and with it. Its verdict is "
        "accept, reject, reject_unverified (the evidence is incomplete) or needs_person.",
    ),
    (
        "rule, approval rule",
        "What decides by itself, and when a person must. The approval rule auto approves what the gate "
        "accepts and what touches settings alone, and rejects what the gate rejects; all else waits for a "
        "person. Other rules let a patch expire, or take it out where the model got worse. The record names "
        "a rule policy:NAME.",
    ),
    (
        "finding",
        "Something that rules found in sessions or in training, with its evidence; confidence is 0 to 1.",
    ),
    (
        "model",
        "The one that the round trains, where no other is named (literature on reinforcement learning, and "
        "some skills, call it the policy): it answers tasks by calling tools. Tasks are split by content; "
        "those of the report are seen by no training and by no judge.",
    ),
    (
        "sampled, greedy",
        "Sampled answers are drawn as in training, and tell how reliable the model is; greedy ones take the "
        "likeliest token each time. Sampled accuracy is the one that a round is measured by.",
    ),
    (
        "probe",
        "The gate's comparison: from the round's own checkpoint, two short trainings with the same seeds, "
        "one with the patch, scored on tasks kept for judging. That is why its scores lie above the round's.",
    ),
    (
        "replay",
        "The comparison for prose: how many failures of later sessions the section names, with the patch and "
        "without it. Naming is not preventing, so a person decides.",
    ),
    (
        "NAME, TEXT",
        "In a command, your name and your reason; both stand in the record of decisions from then on.",
    ),
    ("interval", "Where the true value lies with 95 % confidence, resampled over tasks."),
    ("no task worse beyond noise", "No single task got significantly worse, all tasks tested together."),
    (
        "slope, first and last quarter",
        "The slope is the median of those between all pairs of steps (Theil-Sen), told for 10 steps. Single "
        "steps are noisy: so the start and the end that texts tell are the means of the first and of the "
        "last quarter of the steps, three at least. The plot draws all of it, and like the findings over the "
        "last 100 steps at most.",
    ),
    ("headroom", "How far the mean reward of the last quarter of the steps is from its maximum."),
    (
        "findings without a patch",
        "A finding becomes a patch where it points to a setting or, from sessions, to a line of advice; not "
        "where the edits of a round are spent, or the same edit waits or was rejected before. The table "
        '"Not proposed, and why" has each reason.',
    ),
)
