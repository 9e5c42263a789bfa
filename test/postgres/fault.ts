// Loaded in front of the service by tests: makes it fail in a way that nothing handles.
process.on("SIGUSR2", () => void Promise.reject(new Error("a promise that nobody handles")));
