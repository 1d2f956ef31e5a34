"""Text without models: documents, words, the alphabet, streams and windows."""
