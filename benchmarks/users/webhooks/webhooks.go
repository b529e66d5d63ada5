package webhooks

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
)

var backupLog = logf.Log.WithName("backup-resource")

// SetupBackupWebhookWithManager registers the webhooks for Backup in the manager.
func SetupBackupWebhookWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &Backup{}).
		WithValidator(&BackupValidator{Client: mgr.GetClient()}).
		WithDefaulter(&BackupDefaulter{DefaultKeep: 3}, admission.DefaulterRemoveUnknownOrOmitableFields).
		WithValidatorCustomPath("/check").
		Complete()
}

type BackupDefaulter struct{ DefaultKeep int32 }

var _ admission.Defaulter[*Backup] = &BackupDefaulter{}

func (d *BackupDefaulter) Default(_ context.Context, obj *Backup) error {
	backupLog.Info("Defaulting for Backup", "name", obj.GetName())
	if obj.Keep == nil {
		obj.Keep = &d.DefaultKeep
	}
	return nil
}

type BackupValidator struct{ client.Client }

var _ admission.Validator[*Backup] = &BackupValidator{}

func (v *BackupValidator) ValidateCreate(ctx context.Context, obj *Backup) (admission.Warnings, error) {
	return nil, v.validate(ctx, obj)
}

func (v *BackupValidator) ValidateUpdate(ctx context.Context, oldObj, newObj *Backup) (admission.Warnings, error) {
	if oldObj.Schedule != newObj.Schedule {
		return admission.Warnings{"the next backup comes at another time"}, v.validate(ctx, newObj)
	}
	return nil, v.validate(ctx, newObj)
}

func (v *BackupValidator) ValidateDelete(context.Context, *Backup) (admission.Warnings, error) {
	return nil, nil
}

func (v *BackupValidator) validate(ctx context.Context, obj *Backup) error {
	req, err := admission.RequestFromContext(ctx)
	if err != nil {
		return err
	}
	if obj.Schedule == "" {
		return apierrors.NewInvalid(V1.GroupVersion.WithKind("Backup").GroupKind(), req.Name,
			field.ErrorList{field.Required(field.NewPath("schedule"), "")})
	}
	return nil
}

// anyObject serves objects of all kinds, in the older style.
type anyObject struct{}

func (anyObject) Default(_ context.Context, obj runtime.Object) error {
	if _, is := obj.(client.Object); !is {
		return errors.New("it has no metadata")
	}
	return nil
}

var _ webhook.CustomDefaulter = anyObject{}

// podAnnotator is a handler without a builder.
type podAnnotator struct {
	Client  client.Client
	decoder admission.Decoder
}

func (a *podAnnotator) Handle(_ context.Context, req admission.Request) admission.Response {
	pod := &corev1.Pod{}
	if err := a.decoder.Decode(req, pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if pod.Name == "never" {
		return admission.Denied("not that name").WithWarnings("think of another one")
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations["example-mutating-admission-webhook"] = "foo"
	marshaled, err := json.Marshal(pod)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(req.Object.Raw, marshaled)
}

// Setup is what a main does about webhooks.
func Setup(scheme *runtime.Scheme, certPath string) (ctrl.Manager, error) {
	watcher, err := certwatcher.New(certPath+"/tls.crt", certPath+"/tls.key")
	if err != nil {
		return nil, err
	}
	webhookServer := webhook.NewServer(webhook.Options{
		Port: 9443,
		TLSOpts: []func(*tls.Config){func(c *tls.Config) {
			c.NextProtos, c.GetCertificate = []string{"http/1.1"}, watcher.GetCertificate
		}},
	})
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{Scheme: scheme, WebhookServer: webhookServer})
	if err != nil {
		return nil, err
	}
	hook := &webhook.Admission{Handler: &podAnnotator{Client: mgr.GetClient(), decoder: admission.NewDecoder(mgr.GetScheme())}}
	mgr.GetWebhookServer().Register("/mutate--v1-pod", hook.WithRecoverPanic(true))
	mgr.GetWebhookServer().Register("/all", &webhook.Admission{Handler: admission.MultiMutatingHandler(hook.Handler,
		admission.HandlerFunc(func(context.Context, admission.Request) admission.Response { return admission.Allowed("fine") }))})
	mgr.GetWebhookServer().Register("/convert-by-hand", conversion.NewWebhookHandler(mgr.GetScheme(), mgr.GetConverterRegistry()))
	standalone, err := admission.StandaloneWebhook(admission.WithCustomDefaulter(scheme, &Backup{}, anyObject{}), admission.StandaloneOptions{MetricsPath: "/any"})
	if err != nil {
		return nil, err
	}
	http.Handle("/any", standalone)
	return mgr, errors.Join(
		mgr.Add(watcher),
		SetupBackupWebhookWithManager(mgr),
		builder.WebhookManagedBy(mgr, &corev1.ConfigMap{}).WithCustomDefaulter(anyObject{}).RecoverPanic(false).Complete(),
		mgr.AddReadyzCheck("webhook", webhookServer.StartedChecker()),
	)
}
