"""The notebook surface: magics, cells, display. The only room that knows IPython."""
