module github.com/loopwright/loopwright/docs/book

go 1.26.0

replace github.com/loopwright/loopwright => ../..

ignore ./node_modules

require github.com/loopwright/loopwright v0.0.0-00010101000000-000000000000
