def _integer(what, value):
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is {value!r}, which is no integer") from None
