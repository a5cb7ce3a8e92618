"""How the shipped weights were made. Needs PyTorch and a corpus folder; glass itself never imports it."""
