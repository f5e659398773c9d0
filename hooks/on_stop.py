"""The older name of the capture hook, kept for settings that name it. Does nothing of its own."""

import sys

sys.dont_write_bytecode = True  # a hook leaves nothing beside itself
sys.path.insert(0, __file__.rpartition("/")[0] or ".")

from capture import main  # type: ignore[import-not-found] # noqa: E402

if __name__ == "__main__":
    main()
