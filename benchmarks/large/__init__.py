"""How well a tree of tens of thousands of files is searched: the Linux kernel and the JDK."""
