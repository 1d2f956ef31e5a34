"""Using a trained model: reading and scoring text, completing and sampling words, rescoring, compressing."""
