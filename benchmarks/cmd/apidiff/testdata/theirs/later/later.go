package later

// Later is of a package that is not here yet.
type Later struct{ Name string }
