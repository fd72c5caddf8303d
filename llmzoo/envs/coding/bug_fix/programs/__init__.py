"""The shipped programs, all correct: a function each, with the helpers of its file that it calls.

They are read as text, never imported. ``cases.json`` holds calls of each with what they return;
a function without cases there is a helper. Arguments and results are JSON values.
"""
