package server

import (
	"context"
	"net/http"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/log"
)

// A manager puts its logger into the context of what it runs. Without this, a program that sets the
// manager's logger, and not the global one, never learns where its metrics are, and a filter never says
// whom it has turned away.
func TestTheServerAndItsFilterWriteToTheManagersLogger(t *testing.T) {
	filter := func(log logr.Logger, handler http.Handler) (http.Handler, error) {
		log.Info("filtered")
		return handler, nil
	}
	s, err := NewServer(Options{
		BindAddress: "127.0.0.1:0", FilterProvider: func(*rest.Config, *http.Client) (Filter, error) { return filter, nil },
	}, nil, nil)
	require.NoError(t, err)
	var log logged
	ctx, stop := context.WithCancel(logr.NewContext(t.Context(), log.logger()))
	stop()
	require.NoError(t, s.Start(ctx))
	require.Equal(t, `metrics "level"=0 "msg"="filtered" "path"="/metrics"`+"\n"+
		`metrics "level"=0 "msg"="Serving metrics" "address"="`+s.(*server).GetBindAddr()+`" "secure"=false`, log.told())
}

// program is the log of the program; it can be set once.
var program = func() *logged {
	var written logged
	log.SetLogger(written.logger())
	return &written
}()

// A program that runs a server without a manager has set its logger for all.
func TestAServerWithoutAManagerWritesToTheProgramsLogger(t *testing.T) {
	s, err := NewServer(Options{BindAddress: "127.0.0.1:0"}, nil, nil)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	require.NoError(t, s.Start(ctx))
	require.Contains(t, program.told(), s.(*server).GetBindAddr())
}
