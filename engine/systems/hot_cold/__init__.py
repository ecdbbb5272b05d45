"""Systems that hold hot rows in HBM and cold ones in host memory."""
