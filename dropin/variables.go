package controllerruntime

import (
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// These use the values that a program has assigned to log.Log, server.DefaultBindAddress and
// webhook.DefaultPort.
var (
	LoggerFrom = log.FromContext
	NewManager = manager.New
)
