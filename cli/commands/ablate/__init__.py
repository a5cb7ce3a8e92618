"""Take heads and MLPs out, one at a time: what is each needed for?"""
