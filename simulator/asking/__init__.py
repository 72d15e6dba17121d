"""A question and its answer: verdict, cause, picture, price, cure and figures, in a few lines.

`ask` has the public `count` and `explain`, which take addresses or C; `answer` puts the lines
together, `words` says the verdict and its cause, `bank_map` draws, `cure` searches.
"""
