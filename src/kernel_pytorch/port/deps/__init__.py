"""Install plans that cannot overwrite a ROCm torch: read the dependency files, classify, write, install."""
