"""What a prompt, a cancel and "the next request" are in each framework.

Each adapter is short on purpose: copy it, and change it to how your program does it.
"""
