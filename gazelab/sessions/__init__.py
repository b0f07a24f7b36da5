"""A session on disk: writer, reader, import and export."""
