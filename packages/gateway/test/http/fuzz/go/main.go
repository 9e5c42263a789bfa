// Serves HTTP/1.1 by net/http, and says in the header x-request of each answer what request it was.
package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"
)

type request struct {
	Method string `json:"method"`
	Target string `json:"target"`
	Body   string `json:"body"`
}

func answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() || errors.Is(err, io.ErrUnexpectedEOF) {
		// More of the body would have been waited for: that is no refusal.
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	hash := sha256.Sum256(body)
	text, _ := json.Marshal(request{r.Method, r.RequestURI, base64.RawURLEncoding.EncodeToString(hash[:])})
	w.Header().Set("X-Request", base64.RawURLEncoding.EncodeToString(text))
	w.WriteHeader(http.StatusOK)
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	// Ends with the process that started it.
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	server := &http.Server{
		Handler:                      http.HandlerFunc(answer),
		ReadTimeout:                  time.Second,
		IdleTimeout:                  time.Second,
		MaxHeaderBytes:               16384,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     log.New(io.Discard, "", 0),
	}
	log.Fatal(server.Serve(listener))
}
