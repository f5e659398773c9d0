"""Who follows the skills: nobody, or a headless Claude Code in a place of its own."""
