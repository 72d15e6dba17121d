"""The HTML report: one self-contained page of a result's figures and tables."""
