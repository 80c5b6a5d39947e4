// The least that live mode starts with. Tests of live mode spread it into their settings.

export const LIVE_SETTINGS = {
  SVC_MODE: 'live',
  PUBLIC_URL: 'https://svc.example.com',
  // Nobody listens there: mail stays in the queue.
  SMTP_URL: 'smtp://127.0.0.1:1',
}
