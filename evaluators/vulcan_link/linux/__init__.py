"""The real Linux TCP over an emulated link: `vulcan kernel run`."""
