"""The paper's models: each part in its own file, wired in `hclm`; the baseline beside it in `char_lstm`."""
