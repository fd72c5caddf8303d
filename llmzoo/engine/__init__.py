"""Where rollouts and updates of a run are computed: in this process, or on a Ray cluster."""
