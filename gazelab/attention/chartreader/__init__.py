"""The embedded chart reader: a small encoder-decoder Transformer that answers questions on charts."""
