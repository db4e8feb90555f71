"""Text to vectors: which model is installed, how one is installed, and the loaded model itself.

Nothing is imported here: what is loaded depends on what is needed, from the name of the installed model
(`model_files`) to onnxruntime.
"""
