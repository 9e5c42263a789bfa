/** Our mark: a postern is a small gate. */
export function Mark() {
  return (
    <span class="mark">
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="8" />
        <path d="M10 25V14a6 6 0 0 1 12 0v11h-4V14a2 2 0 0 0-4 0v11z" />
      </svg>
      <b>Postern</b>
    </span>
  );
}
