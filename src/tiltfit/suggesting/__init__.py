"""Suggestions of what to state: words, phrases and token patterns, ranked by what a statement about them would teach.

``candidates``    conditions that could be stated, and where each of them fires
``knowledge``     what is known of every position: labels, what a model believes, or topics
``usefulness``    the formula, and the greedy choice by it
``meaning``       what is close in meaning to a word, by an encoder
``context``       examples: the condition among its neighbours
``suggestions``   the result, as a value, as text and as a constraint file to fill in
"""
