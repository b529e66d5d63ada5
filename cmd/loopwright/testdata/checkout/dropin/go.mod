module sigs.k8s.io/controller-runtime

go 1.26.0

replace github.com/loopwright/loopwright => ../

require (
	github.com/loopwright/loopwright v0.0.0-00010101000000-000000000000
	k8s.io/api v0.37.2
)
