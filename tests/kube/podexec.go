// podexec is the part of a kubelet that runs commands in pods. Streams, protocols and exit codes are
// Kubernetes' own (k8s.io/cri-streaming); what a pod is, the caller says: words that are put before
// each command, such as "ip netns exec NAME".
//
//	podexec ADDRESS CERTIFICATE KEY AUTHORITY PODS
//
// PODS is a file, read for each command: {"NAMESPACE/POD": ["WORD", ...], ...}.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

const (
	idle    = 4 * time.Hour
	created = 30 * time.Second
)

// pods is the file that says what pods are; it is a remotecommand.Executor.
type pods string

// wordsBefore gives what stands before each command of a pod, and whether there is such a pod.
func (file pods) wordsBefore(pod string) ([]string, bool) {
	known := map[string][]string{}
	data, err := os.ReadFile(string(file))
	if err == nil {
		err = json.Unmarshal(data, &known)
	}
	if err != nil {
		log.Printf("%s: %v", file, err)
	}
	words, found := known[pod]
	return words, found
}

// ExecInContainer runs a command; the exit code of a command that failed is told to the client.
func (file pods) ExecInContainer(
	ctx context.Context, pod, _, _ string, command []string, in io.Reader, out, errOut io.WriteCloser,
	_ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration,
) error {
	before, _ := file.wordsBefore(pod)
	words := append(before, command...)
	run := exec.CommandContext(ctx, words[0], words[1:]...)
	run.Stdin, run.Stdout, run.Stderr = in, out, errOut
	run.WaitDelay = time.Second // for what it left in the background, with its output
	err := run.Run()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return &utilexec.ExitErrorWrapper{ExitError: failed}
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return err
}

func (file pods) serve(answer http.ResponseWriter, asked *http.Request) {
	pod := asked.PathValue("namespace") + "/" + asked.PathValue("pod")
	if _, found := file.wordsBefore(pod); !found {
		http.Error(answer, "no such pod: "+pod, http.StatusNotFound)
		return
	}
	streams, err := remotecommand.NewOptions(asked)
	if err != nil {
		http.Error(answer, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeExec(
		answer, asked, file, pod, "", asked.PathValue("container"), asked.URL.Query()["command"],
		streams, idle, created, remotecommand.SupportedStreamingProtocols,
	)
}

// main serves those alone who show a certificate of the authority: commands run as this user.
func main() {
	address, certificate, key, authority := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	trusted := x509.NewCertPool()
	data, err := os.ReadFile(authority)
	if err != nil || !trusted.AppendCertsFromPEM(data) {
		log.Fatalf("%s: no certificate (%v)", authority, err)
	}
	http.HandleFunc("/exec/{namespace}/{pod}/{container}", pods(os.Args[5]).serve)
	server := &http.Server{
		Addr:              address,
		ReadHeaderTimeout: created,
		TLSConfig:         &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusted},
	}
	log.Fatal(server.ListenAndServeTLS(certificate, key))
}
