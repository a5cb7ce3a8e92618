"""What a model folder holds: settings, parameters, tensors, bytes"""
