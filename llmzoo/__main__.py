"""``python -m llmzoo`` is the command line."""

from llmzoo.cli import main

raise SystemExit(main())
