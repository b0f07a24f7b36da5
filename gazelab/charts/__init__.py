"""Charts: synthetic ones, ChartQA's, and how an answer to one is scored."""
