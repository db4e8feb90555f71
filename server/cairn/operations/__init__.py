"""What people who run Cairn look at and steer: metrics, kill switch, query log, doctor, feedback, control."""
