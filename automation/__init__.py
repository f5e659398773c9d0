"""When things run: partitions, jobs, schedules and sensors. Not what they compute."""
