try:
    import GPUtil
except ImportError:
    GPUtil = None

NOTE = "import gpustat"
