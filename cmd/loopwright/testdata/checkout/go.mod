module github.com/loopwright/loopwright

go 1.26.0
