package main

const hidden = "-child"

func child([]string) error { return nil }
func processRows() []row   { return nil }
