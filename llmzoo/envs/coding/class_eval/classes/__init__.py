"""The shipped classes: a reference and its unit tests each. They are read as text, never imported.

A file holds imports, one class, and one ``TestCase`` for each method, named ``<Class>Test<Method>``
with the method's name in camel case, and one for the class as a whole, ``<Class>TestTogether``.
"""
