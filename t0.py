import gluoncv

print(gluoncv.__version__, gluoncv.__file__)
