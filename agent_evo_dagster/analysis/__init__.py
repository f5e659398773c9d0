"""Analysis: findings from segments and from training metrics, and the report. Not what to change."""
