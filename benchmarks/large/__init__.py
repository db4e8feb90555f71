"""Measures searches of trees with tens of thousands of files: the Linux kernel and the JDK."""
