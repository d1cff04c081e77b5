"""The ladder: what can make a model faster, tried rung by rung, kept only where it is right and measurably faster."""
