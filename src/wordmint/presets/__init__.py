"""Settings that belong together, as TOML; `training.presets` reads them."""
