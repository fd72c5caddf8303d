"""Where a run's rollouts and updates are computed: this process, or a Ray cluster."""
