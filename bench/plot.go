package main

import "io"

func draw(d *record, root string, out io.Writer) error { return nil }
