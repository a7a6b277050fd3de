"""The subjects of the sweep, a file for each family of `keras.layers`."""
