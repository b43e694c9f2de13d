"""The harness: runs, turns, tools, queues, hooks and save points over one session."""
