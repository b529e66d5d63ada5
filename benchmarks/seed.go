package benchmarks

import (
	_ "github.com/loopwright/loopwright/informer"
	_ "github.com/stretchr/testify/require"
	_ "golang.org/x/time/rate"
	_ "k8s.io/client-go/informers"
	_ "k8s.io/client-go/tools/cache"
	_ "k8s.io/client-go/util/workqueue"
	_ "sigs.k8s.io/controller-runtime/pkg/controller"
	_ "sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	_ "sigs.k8s.io/controller-runtime/pkg/manager"
)
