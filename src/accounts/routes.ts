// /auth: registration, sessions, mail proofs, passwords.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { sessionOf } from '../http/access.ts'
import { Credits, Id, Success, Text, Timestamp } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import { readSessionCookie, setDeviceCookie, setSessionCookie } from '../http/session-cookie.ts'
import {
  type AccountParts,
  changePassword,
  finishLogin,
  type LoggedIn,
  login,
  readUser,
  register,
} from './accounts.ts'
import { Assertion } from './factors/passkey-schemas.ts'
import { PROOF_KINDS, requireOneProof } from './factors/proofs.ts'
import { requestReset, requestVerification, type VerificationParts } from './mail-proofs.ts'
import { Password, type ProofRouteParts, proofPageRoutes } from './proof-routes.ts'
import { clientOf, closeSession, closeSessionOfToken, SESSION_LIFETIME_S } from './sessions.ts'

export type AuthParts = AccountParts & ProofRouteParts & VerificationParts

const Email = Type.String({ maxLength: 1000, examples: ['ada@example.com'] })
const User = Type.Object({
  id: Id,
  email: Type.String({ examples: ['ada@example.com'] }),
  balance: Credits,
})

const LoggedInReply = Type.Object({
  user: User,
  session_token: Type.String({ examples: ['sess_Zk3v…'], description: 'Send it as bearer token.' }),
  expires_at: Timestamp,
})

const Credentials = Type.Object({ email: Email, password: Password })

export function authRoutes(app: App, parts: AuthParts): void {
  credentialRoutes(app, parts)
  sessionRoutes(app, parts)
  mailRoutes(app, parts)
  proofPageRoutes(app, parts)
}

function credentialRoutes(app: App, parts: AuthParts): void {
  app.post(
    '/auth/register',
    {
      config: {
        access: 'public',
        rate_limit: 'register',
        errors: ['invalid_email', 'weak_password', 'email_exists'],
      },
      schema: {
        tags: ['Accounts'],
        operationId: 'register',
        summary: 'Create an account',
        description:
          'Creates the account with its welcome credits, opens a session and sets the `svc_session` cookie.',
        body: Credentials,
        response: { 201: LoggedInReply },
      },
    },
    async (request, reply) => {
      const opened = await register(parts, { ...request.body, client: clientOf(request) })
      reply.code(201)
      return presentLogin(parts, reply, opened)
    },
  )
  app.post(
    '/auth/login',
    {
      config: {
        access: 'public',
        rate_limit: 'login',
        spares_devices: true,
        errors: ['invalid_credentials', 'invalid_email', 'second_factor_required'],
      },
      schema: {
        tags: ['Accounts'],
        operationId: 'login',
        summary: 'Log in',
        description:
          'Opens a session of 24 hours and sets the `svc_session` cookie. An account with a second factor answers 401 `second_factor_required`, whose `challenge_id` goes to /auth/login/second-factor. Failed logins count, by address and by account; the cookie `svc_device` keeps those of others from keeping you out.',
        body: Credentials,
        response: { 200: LoggedInReply },
      },
    },
    async (request, reply) => {
      const opened = await login(parts, { ...request.body, client: clientOf(request) })
      await closePlanted(parts, request)
      return presentLogin(parts, reply, opened)
    },
  )
  secondStepRoute(app, parts)
}

function secondStepRoute(app: App, parts: AuthParts): void {
  app.post(
    '/auth/login/second-factor',
    {
      config: { access: 'public', errors: ['invalid_credentials', 'rate_limited'] },
      schema: {
        tags: ['Second factor'],
        operationId: 'login_second_factor',
        summary: 'Log in, second step',
        description:
          'With `challenge_id` of `second_factor_required` and one of `totp`, `recovery_code` and `passkey`. Answers as /auth/login does. A challenge lasts 5 minutes and 5 wrong answers; codes of an app count for the account, right or wrong: 10 in 15 minutes and 50 a day.',
        body: Type.Object({
          challenge_id: Text({ min: 1, max: 100, examples: ['svc_challenge_Zk3v…'] }),
          totp: Type.Optional(Text({ max: 20, examples: ['123456'] })),
          recovery_code: Type.Optional(Text({ max: 60 })),
          passkey: Type.Optional(Assertion),
        }),
        response: { 200: LoggedInReply },
      },
    },
    async (request, reply) => {
      const { challenge_id, ...proof } = request.body
      requireOneProof(proof, PROOF_KINDS)
      const opened = await finishLogin(parts, { challenge_id, proof, client: clientOf(request) })
      await closePlanted(parts, request)
      return presentLogin(parts, reply, opened)
    },
  )
}

/** A cookie planted before the login must not stay good after it. */
async function closePlanted(parts: AuthParts, request: FastifyRequest): Promise<void> {
  const planted = readSessionCookie(request)
  if (planted !== undefined) await closeSessionOfToken(parts, planted)
}

function sessionRoutes(app: App, parts: AuthParts): void {
  app.get(
    '/auth/me',
    {
      config: { access: 'session', errors: ['user_not_found'] },
      schema: {
        tags: ['Accounts'],
        operationId: 'me',
        summary: 'Who am I?',
        response: { 200: User },
      },
    },
    (request) => readUser(parts.db, sessionOf(request).account_id),
  )
  app.post(
    '/auth/logout',
    {
      config: { access: 'session' },
      schema: {
        tags: ['Accounts'],
        operationId: 'logout',
        summary: 'End this session',
        response: { 200: Success },
      },
    },
    async (request, reply) => {
      await closeSession(parts, sessionOf(request).session_id)
      setSessionCookie(reply, { token: '', max_age_s: 0, secure: parts.secure_cookies })
      return { success: true as const }
    },
  )
  app.post(
    '/auth/change-password',
    {
      config: {
        access: 'session',
        errors: ['invalid_credentials', 'weak_password', 'rate_limited'],
      },
      schema: {
        tags: ['Accounts'],
        operationId: 'change_password',
        summary: 'Change the password',
        description:
          'Every other session ends, and links to set a new password that were mailed before. A wrong current password uses up an attempt: 5 in 15 minutes.',
        body: Type.Object({ current_password: Password, new_password: Password }),
        response: { 200: Success },
      },
    },
    async (request) => {
      await changePassword(parts, sessionOf(request), {
        ...request.body,
        client: clientOf(request),
      })
      return { success: true as const }
    },
  )
}

function mailRoutes(app: App, parts: AuthParts): void {
  app.post(
    '/auth/send-verification',
    {
      config: { access: 'session', errors: ['rate_limited'] },
      schema: {
        tags: ['Accounts'],
        operationId: 'send_verification',
        summary: 'Send the verification mail',
        description: 'At most 3 an hour. An address that is verified already uses up nothing.',
        response: {
          200: Type.Object({
            success: Type.Literal(true),
            already_verified: Type.Boolean(),
            verify_url: Type.Optional(
              Type.String({
                description: 'Only in sandbox mode without `SMTP_URL`: the link of the mail.',
                examples: ['http://localhost:8080/auth/verify?token=svc_verify_abc'],
              }),
            ),
          }),
        },
      },
    },
    async (request) => ({
      success: true as const,
      ...(await requestVerification(parts, sessionOf(request).account_id)),
    }),
  )
  app.post(
    '/auth/forgot-password',
    {
      config: { access: 'public', rate_limit: 'recovery' },
      schema: {
        tags: ['Accounts'],
        operationId: 'forgot_password',
        summary: 'Ask for a mail to set a new password',
        description: 'The answer is the same whether or not the address is known.',
        body: Type.Object({ email: Text({ max: 1000, examples: ['ada@example.com'] }) }),
        response: { 200: Success },
      },
    },
    async (request) => {
      await requestReset(parts, request.body.email)
      return { success: true as const }
    },
  )
}

function presentLogin(parts: AuthParts, reply: FastifyReply, opened: LoggedIn) {
  const { user, session_token, expires_at, device_token } = opened
  setSessionCookie(reply, {
    token: session_token,
    max_age_s: SESSION_LIFETIME_S,
    secure: parts.secure_cookies,
  })
  setDeviceCookie(reply, { token: device_token, secure: parts.secure_cookies })
  return { user, session_token, expires_at: expires_at.toISOString() }
}
